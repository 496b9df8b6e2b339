"""Answer boxes of the built pages, as the browser tests find, fill and read them."""

# Submits each answer of {key: answers} to its box, where the page has one -> {key: [{said, status}, ...]}.
GIVE_ALL = """(answers) => Object.fromEntries(Object.entries(answers).flatMap(([key, given]) => {
  const box = document.getElementById("box-" + key.replace(".", "-"));
  if (!box) return [];
  const replies = given.map((answer) => {
    const field = box.querySelector("input[type=text]");
    if (field) field.value = String(answer);
    else box.querySelectorAll(".sl-choice").forEach((choice) => {
      choice.querySelector("input").checked = choice.innerText.trim() === answer;
    });
    box.querySelector("form").requestSubmit();
    return { said: box.querySelector("[role=status]").innerText, status: box.dataset.status };
  });
  return [[key, replies]];
}))"""


def box_of(page, key: str):
    return page.locator(f"#box-{key.replace('.', '-')}")


def page_of(key: str, site) -> str:
    """The page that holds the box of an exercise."""
    name = f'id="box-{key.replace(".", "-")}"'
    found = [p for p in site.rglob("*.html") if name in p.read_text(encoding="utf-8")]
    assert len(found) == 1, f"{key} has {len(found)} boxes in the site"
    return found[0].relative_to(site).as_posix()


def give(box, spec: dict, answer) -> None:
    """Answers a box as a reader does."""
    if spec["kind"] == "choice":
        box.get_by_role("radio", name=answer, exact=True).check()
    else:
        box.get_by_role("textbox").fill(answer if isinstance(answer, str) else repr(answer))
    box.locator("button[type=submit]").click()


def said(box) -> str:
    return box.get_by_role("status").inner_text()
