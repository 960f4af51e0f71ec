"""What a page must have for those who use a keyboard or hear it, asked of the page itself.

It looks for what checkers of accessibility look for first: names, headings, landmarks,
ids, contrast, room.
"""

from __future__ import annotations

from typing import Any

# Contrast as WCAG 2 computes it, of every text that is seen, with its nearest ground.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => {
    const part = (value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parse(getComputedStyle(each).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const words = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
    if (!words.length || !element.getClientRects().length || element.disabled) continue;
    const [one, two] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const start = words[0].data.trim().slice(0, 40);
    if (ratio < 4.5) weak.push(`${ratio.toFixed(2)} ${element.tagName} ${start}`);
  }
  return weak;
}"""
STRUCTURE = """() => {
  const problems = [];
  const seen = (element) => element.getClientRects().length > 0;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
  for (const tag of ["header", "main", "footer"]) {
    if (all(tag).length !== 1) problems.push(`${all(tag).length} ${tag}`);
  }
  if (all("h1").length !== 1) problems.push(`${all("h1").length} h1`);
  let level = 0;
  for (const heading of all("h1, h2, h3, h4")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) problems.push(`h${level} then h${next}: ${heading.textContent}`);
    if (!heading.textContent.trim()) problems.push("an empty heading");
    level = next;
  }
  for (const control of all("input, select, textarea")) {
    if (!control.labels.length) problems.push(`no label: ${control.outerHTML.slice(0, 80)}`);
  }
  for (const control of all("button, a[href], summary")) {
    const name = control.getAttribute("aria-label") || control.textContent;
    if (!name.trim()) problems.push(`no name: ${control.outerHTML.slice(0, 80)}`);
  }
  for (const image of all("img")) if (!image.alt) problems.push("a picture without a text");
  for (const table of all("table")) {
    if (!table.caption) problems.push("a table without a caption");
    if (!table.querySelector("th[scope]")) problems.push("a table without heads");
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const twice = ids.filter((id, number) => ids.indexOf(id) !== number);
  if (twice.length) problems.push(`ids twice: ${twice}`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) {
      const id = element.getAttribute(name);
      if (!document.getElementById(id)) problems.push(`${name} names nothing: ${id}`);
    }
  }
  if (!document.documentElement.lang || !document.title) problems.push("no language or title");
  if (!document.querySelector("[aria-live], [role=status]")) problems.push("no live region");
  return problems;
}"""
OVERFLOW = (
    "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
)


def problems_of(page: Any) -> list[str]:
    """What of the page as it is now would hold somebody up."""
    found = [*page.evaluate(STRUCTURE)]
    found += [f"contrast {weak}" for weak in page.evaluate(CONTRAST)]
    if (too_wide := page.evaluate(OVERFLOW)) > 0:
        found.append(f"{too_wide} px wider than the window")
    return found
