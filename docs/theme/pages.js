// Pages name each other in backticks, as text editors and terminals show them. In the book such a
// name is a link; tests/book.rs holds that each names a page.
for (const code of document.querySelectorAll("main code")) {
    const name = code.textContent.match(/^(?:docs\/)?([a-z-]+)\.md$/);
    if (!name || code.closest("a, pre")) continue;
    const link = document.createElement("a");
    link.href = name[1] + ".html";
    code.replaceWith(link);
    link.append(code);
}
