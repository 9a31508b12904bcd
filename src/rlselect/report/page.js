"use strict";
/* A convenience, nothing more: without it the page says the same. Heads of tables become buttons that sort. */
for (const table of document.querySelectorAll(".rlselect table.sorts")) {
  const body = table.tBodies[0], shown = table.querySelector(".rest") ? body.querySelectorAll("tr:not(.rest)").length : Infinity;
  const cell = (group, k) => group[0].cells[k].textContent.trim();
  const number = (text) => Number(text.replace(/[,<>%\s]|s$/g, "") || NaN);
  const isBlank = (text) => text === "" || text === "-";
  function compare(a, b, numbers) {
    if (isBlank(a) || isBlank(b)) return isBlank(a) - isBlank(b);
    return numbers ? number(a) - number(b) : a.localeCompare(b, undefined, { numeric: true });
  }
  function sort(k, head) {
    const groups = [];
    /* rows that belong to the one above them go where it goes */
    for (const row of body.rows) row.classList.contains("sub") ? groups[groups.length - 1].push(row) : groups.push([row]);
    const numbers = head.matches(".n, .picture");
    const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numbers;
    const sign = (a, b) => (isBlank(a) || isBlank(b) ? 1 : down ? -1 : 1);
    groups.sort((a, b) => sign(cell(a, k), cell(b, k)) * compare(cell(a, k), cell(b, k), numbers));
    /* many levels of one variable do not hide the others */
    const [near, far] = [false, true].map((is) => groups.flat().filter((row) => row.classList.contains("far") === is));
    const kept = new Set([...near, ...far].slice(0, shown));
    for (const row of groups.flat()) { row.classList.toggle("rest", !kept.has(row)); body.append(row); }
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  }
  [...table.tHead.rows[0].cells].forEach((head, k) => {
    if (head.tagName !== "TH") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.onclick = () => sort(k, head);
    head.append(button);
  });
}
/* A box that has nothing to scroll is no place to stop at with the keyboard; one that has more fades out. */
const boxes = [...document.querySelectorAll(".rlselect .scroll")];
const fade = (box) => box.classList.toggle("cut", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
function look() {
  for (const box of boxes) {
    box.scrollWidth > box.clientWidth ? box.setAttribute("tabindex", "0") : box.removeAttribute("tabindex");
    fade(box);
  }
}
for (const box of boxes) box.onscroll = () => fade(box);
addEventListener("resize", look);
look();
