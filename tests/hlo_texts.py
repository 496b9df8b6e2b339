"""Small HLO texts that the referee's tests are made of."""

X = "  %x = f32[8,4]{1,0} parameter(0)\n"


ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}
"""


def module(body, before="", n=8):
    return f"HloModule m, num_partitions={n}\n{ADD}{before}\nENTRY %main (x: f32[8,4]) -> f32[8,4] {{\n{body}\n}}\n"


def loop(start=0, step=1, limit=6, direction="LT", stated=""):
    before = f"""
%body (s: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {{
  %s = (s32[], f32[8,4]{{1,0}}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %v = f32[8,4]{{1,0}} get-tuple-element(%s), index=1
  %one = s32[] constant({step})
  %next = s32[] add(%i, %one)
  %r = f32[8,4]{{1,0}} all-reduce(%v), replica_groups={{}}, to_apply=%add
  ROOT %t = (s32[], f32[8,4]{{1,0}}) tuple(%next, %r)
}}

%condition (s: (s32[], f32[8,4])) -> pred[] {{
  %s.1 = (s32[], f32[8,4]{{1,0}}) parameter(0)
  %j = s32[] get-tuple-element(%s.1), index=0
  %n = s32[] constant({limit})
  ROOT %less = pred[] compare(%j, %n), direction={direction}
}}
"""
    body = (
        f"{X}  %zero = s32[] constant({start})\n  %init = (s32[], f32[8,4]{{1,0}}) tuple(%zero, %x)\n"
        f"  ROOT %w = (s32[], f32[8,4]{{1,0}}) while(%init), condition=%condition, body=%body{stated}"
    )
    return module(body, before=before)
