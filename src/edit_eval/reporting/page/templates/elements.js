// The page's data, its words, and how elements are made. Text from records only ever becomes text nodes.
const data = JSON.parse(document.getElementById('data').textContent);
document.getElementById('data').remove();

let language = data.language;

function words(key, values = {}) {
  let text = data.texts[language][key];
  for (const [name, value] of Object.entries(values)) text = text.split(`{${name}}`).join(typeof value === 'object' ? inLanguage(value) : String(value));
  return text;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

// An element whose text follows the page's language.
function say(tag, key, values = {}, attributes = {}) {
  return make(tag, { 'data-text': key, 'data-values': JSON.stringify(values), ...attributes }, words(key, values));
}

// The same for something that has its own words in each language: {en, zh}.
function sayWords(tag, both, attributes = {}) {
  return make(tag, { 'data-words': JSON.stringify(both), ...attributes }, inLanguage(both));
}

// A reason from the records, which are English; `data.reasons` has the Chinese of those that the program gave.
function sayReason(tag, reason) {
  return sayWords(tag, { en: reason, zh: (data.reasons || {})[reason] || reason }, { class: 'reason' });
}

function inLanguage(both) {
  return both[language] || Object.values(both).find(Boolean) || '';
}

function nameOf(kind, key) {
  return (data.names[kind] && data.names[kind][key]) || { en: key, zh: key };
}

function translate(root) {
  const valuesOf = (element) => JSON.parse(element.dataset.values || '{}');
  for (const element of root.querySelectorAll('[data-text]')) {
    element.textContent = words(element.dataset.text, valuesOf(element));
  }
  for (const element of root.querySelectorAll('[data-words]')) {
    element.textContent = inLanguage(JSON.parse(element.dataset.words));
  }
  for (const element of root.querySelectorAll('[data-text-label]')) {
    element.setAttribute('aria-label', words(element.dataset.textLabel, valuesOf(element)));
  }
  for (const element of root.querySelectorAll('[data-text-alt]')) {
    element.setAttribute('alt', words(element.dataset.textAlt, valuesOf(element)));
  }
  for (const element of root.querySelectorAll('[data-text-placeholder]')) {
    element.setAttribute('placeholder', words(element.dataset.textPlaceholder));
  }
}
