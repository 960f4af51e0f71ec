"use strict";
// Sorts a table by the column whose heading is clicked.
for (const heading of document.querySelectorAll("th button")) {
  heading.addEventListener("click", () => sortBy(heading.closest("th")));
}

function sortBy(heading) {
  const table = heading.closest("table");
  const column = [...heading.parentElement.children].indexOf(heading);
  const isNumber = heading.classList.contains("number");
  const first = isNumber ? "descending" : "ascending";
  const second = isNumber ? "ascending" : "descending";
  const order = heading.getAttribute("aria-sort") === first ? second : first;
  for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const body = table.tBodies[0];
  const sign = order === "ascending" ? 1 : -1;
  const rows = [...body.rows].sort((a, b) => sign * compare(a, b, column, isNumber));
  body.append(...rows);
}

function compare(a, b, column, isNumber) {
  const [left, right] = [a, b].map((row) => row.cells[column].dataset.value);
  return isNumber ? Number(left) - Number(right) : left.localeCompare(right);
}
