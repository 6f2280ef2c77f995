// Shows openapi.json as a page, without any library from elsewhere.

const described = await (await fetch("/openapi.json")).json();
document.getElementById("title").textContent = `${described.info.title} ${described.info.version}`;
document.getElementById("about").append(...marked(described.info.description));

for (const [path, methods] of Object.entries(described.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const card = made("section", "card");
    const title = made("h2");
    title.append(made("span", "method", method.toUpperCase()), made("code", "", path));
    const text = made("p");
    text.append(...marked([operation.summary, operation.description].filter(Boolean).join(" ")));
    card.append(title, text);
    const rows = (operation.parameters || []).map((one) => [one.name, `${one.in}. ${one.description}`]);
    const kinds = Object.keys(operation.requestBody?.content || {});
    if (kinds.length) rows.push(["body", kinds.join(", ")]);
    for (const [status, answer] of Object.entries(operation.responses)) rows.push([status, answer.description]);
    const table = made("table");
    for (const [name, value] of rows) {
      const row = made("tr");
      const first = made("td");
      first.append(made("code", "", name));
      const last = made("td");
      last.append(...marked(value));
      row.append(first, last);
      table.append(row);
    }
    card.append(table);
    document.getElementById("paths").append(card);
  }
}

function made(name, kind = "", text = "") {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.textContent = text;
  return element;
}

/** Text whose `words` are code. */
function marked(text) {
  return text.split("`").map((part, index) => (index % 2 ? made("code", "", part) : part));
}
