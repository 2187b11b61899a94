// Marks tables with a cell of prose, and gives cells the headings that a phone shows before them.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table.docutils")) {
    const cells = [...table.querySelectorAll("tbody td")];
    if (!cells.some((cell) => cell.textContent.length > 60)) continue;
    const headings = [...table.querySelectorAll("thead th")].map((th) => th.textContent.trim());
    for (const cell of cells) {
      cell.dataset.label = headings[cell.cellIndex] ?? "";
      cell.classList.toggle("empty", !cell.textContent.trim() && !cell.querySelector("img"));
    }
    table.classList.add("stacked");
  }
});
