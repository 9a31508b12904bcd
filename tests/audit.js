/* What is wrong with a page as it now stands in the window: a list of sentences, empty for a good page.
   Written after WCAG 2.2 (AA), as far as a program can tell. The width of the window and the theme are the caller's. */
(function () {
  "use strict";
  const wrong = [], say = (what, element) => wrong.push(what + ": " + (element ? element.outerHTML.slice(0, 120) : ""));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  /* structure */
  if (!document.documentElement.lang) say("no language");
  if (!document.title.trim()) say("no title");
  if (all("main").length !== 1) say("not one main part");
  if (all("h1").length !== 1) say("not one first heading");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) say("a level of headings is left out", heading);
    if (!heading.textContent.trim()) say("an empty heading", heading);
    level = own;
  }
  const ids = all("[id]").map((element) => element.id);
  if (new Set(ids).size !== ids.length) say("an id stands twice");
  for (const link of all("a[href^='#']")) if (!document.getElementById(link.getAttribute("href").slice(1))) say("a link to nowhere", link);

  /* names */
  const name = (element) => element.getAttribute("aria-label") || [...(element.labels || [])].map((label) => label.textContent).join("") || element.textContent;
  for (const picture of all("img, svg")) {
    if (picture.closest("[aria-hidden=true]")) continue;
    if (picture.getAttribute("role") !== "img" || !(picture.getAttribute("aria-label") || "").trim()) say("a picture without a name", picture);
  }
  for (const control of all("button, input, select, textarea, a, summary, [tabindex], [role=group], nav, section"))
    if (!name(control).trim()) say("a control or part without a name", control);
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) say("an order of its own", element);
  for (const table of all("table")) {
    const heads = [...(table.tHead ? table.tHead.rows[0].cells : [])];
    if (!heads.some((head) => head.tagName === "TH")) say("a table without heads", table);
    for (const head of table.querySelectorAll("th"))
      if (!head.scope || !head.textContent.trim()) say("a head of nothing", head);
    for (const row of table.tBodies[0].rows) {
      if (row.cells.length !== heads.length) say("a row of another length", row);
      if (row.cells[0].tagName !== "TH") say("a row without a head", row);
    }
  }

  /* room */
  if (document.scrollingElement.scrollWidth > innerWidth) say("the page is wider than the window, " + document.scrollingElement.scrollWidth);
  for (const box of all("main *"))
    if (box.scrollWidth > box.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(box).overflowX) && box.tabIndex < 0)
      say("a box that the keyboard cannot scroll", box);
  for (const target of all("button, summary, label, select, input:not([type=checkbox])")) {
    const size = target.getBoundingClientRect();
    if (isSeen(target) && size.width && (size.height < 24 || size.width < 24)) say("too small to hit, " + size.height, target);
  }
  for (const picture of all("svg")) {
    const frame = picture.getBoundingClientRect(), seen = [];
    for (const text of picture.querySelectorAll("text")) {
      if (!isSeen(text)) continue;
      const own = text.getBoundingClientRect(), scale = text.getScreenCTM().a;
      if (parseFloat(getComputedStyle(text).fontSize) * scale < 10) say("text too small to read", text);
      if (own.left < frame.left - 3 || own.right > frame.right + 3 || own.top < frame.top - 3 || own.bottom > frame.bottom + 3) say("text beyond its picture", text);
      for (const other of seen)
        if (own.left < other.right && other.left < own.right && own.top < other.bottom - 3 && other.top < own.bottom - 3) say("texts upon each other", text);
      seen.push(own);
    }
  }

  /* contrast */
  function colour(text) {
    const parts = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const unit = text.startsWith("color(") ? 255 : 1;
    return { rgb: parts.slice(0, 3).map((v) => v * unit), alpha: parts.length > 3 ? parts[3] : 1 };
  }
  const over = (front, alpha, back) => front.map((v, k) => v * alpha + back[k] * (1 - alpha));
  const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const probe = document.body.appendChild(document.createElement("div"));
  probe.style.backgroundColor = "Canvas";
  const canvas = colour(getComputedStyle(probe).backgroundColor).rgb;
  probe.remove();
  function behind(element) {
    let back = canvas;
    const above = [];
    for (let e = element; e; e = e.parentElement) above.unshift(e);
    for (const e of above) { const own = colour(getComputedStyle(e).backgroundColor); back = over(own.rgb, own.alpha, back); }
    return back;
  }
  function opacity(element) {
    let share = 1;
    for (let e = element; e; e = e.parentElement) share *= Number(getComputedStyle(e).opacity);
    return share;
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || ["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || !isSeen(element) || element.closest(":disabled")) continue;
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
    const front = colour(isDrawn ? style.fill : style.color), back = behind(element);
    const got = ratio(over(front.rgb, front.alpha * opacity(element), back), back);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (got < (large ? 3 : 4.5)) say("contrast " + got.toFixed(2), element);
  }
  /* what is drawn to be read: bars, curves, points and intervals, not the grid behind them */
  for (const mark of all("svg circle, svg rect, svg path, svg line")) {
    if (!isSeen(mark) || opacity(mark) < 0.99) continue;
    const style = getComputedStyle(mark), paint = style.stroke !== "none" ? style.stroke : style.fill;
    const front = colour(paint);
    if (front.alpha && ratio(over(front.rgb, front.alpha, behind(mark)), behind(mark)) < 3) say("a mark too faint", mark);
  }
  return wrong;
})()
