// The page's data, its words, and how elements are made. Text from records only ever becomes text nodes.
const data = JSON.parse(await unpack(document.getElementById('data')));
document.getElementById('data').remove();

// The text of an element: as it is, or compressed in a page on disk.
function unpack({ type, textContent }) {
  if (type !== 'application/zlib') return textContent;
  const bytes = Uint8Array.from(atob(textContent), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
}

let language = data.language;

// What `of` returns for each language, by its code.
function inEach(of) {
  return Object.fromEntries(Object.keys(data.languages).map((code) => [code, of(code)]));
}

// The same in every language.
function itself(value) {
  return inEach(() => value);
}

// A sentence in each language. Strings in double quotes in these scripts are English for people: the page gets their
// translations from the catalogues. All other strings are in single quotes.
function sentence(template, values = []) {
  return inEach((code) => {
    let next = 0;
    return (data.translations[code][template] || template).replace(/\{(\d*)\}/g, (_, at) => {
      const value = values[at === '' ? next++ : Number(at)];
      return typeof value === 'object' ? value[code] : String(value);
    });
  });
}

function words(template, values) {
  return inLanguage(sentence(template, values));
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

// An element whose text follows the page's language: a sentence, or words in each language.
function say(tag, template, values = [], attributes = {}) {
  return sayWords(tag, sentence(template, values), attributes);
}

function sayWords(tag, said, attributes = {}) {
  return make(tag, { 'data-words': JSON.stringify(said), ...attributes }, inLanguage(said));
}

// An attribute that follows the page's language.
const FOLLOWING = { label: 'aria-label', alt: 'alt', placeholder: 'placeholder' };

function labelled(kind, template, values) {
  const said = sentence(template, values);
  return { [FOLLOWING[kind]]: inLanguage(said), [`data-words-${kind}`]: JSON.stringify(said) };
}

// A reason from the records, which are English; `data.reasons` has the program's own in each language.
function sayReason(tag, reason) {
  return sayWords(tag, inEach((code) => (data.reasons ? data.reasons[code][reason] : '') || reason), { class: 'reason' });
}

function inLanguage(said) {
  return said[language] || Object.values(said).find(Boolean) || '';
}

function nameOf(kind, key) {
  return (data.names[kind] && data.names[kind][key]) || itself(key);
}

function translate(root) {
  for (const element of root.querySelectorAll('[data-words]')) {
    element.textContent = inLanguage(JSON.parse(element.dataset.words));
  }
  for (const [kind, attribute] of Object.entries(FOLLOWING)) {
    for (const element of root.querySelectorAll(`[data-words-${kind}]`)) {
      element.setAttribute(attribute, inLanguage(JSON.parse(element.getAttribute(`data-words-${kind}`))));
    }
  }
}

// Language and theme. The theme follows the system until the reader chooses.
const root = document.documentElement;
const whenDark = matchMedia('(prefers-color-scheme: dark)');

function remember(name, value) {
  try { localStorage.setItem(name, value); } catch (error) { /* storage is switched off */ }
}

function recall(name) {
  try { return localStorage.getItem(name); } catch (error) { return null; }
}

function setLanguage(chosen) {
  language = chosen;
  document.title = data.titles[chosen];
  root.lang = data.languages[chosen].tag;
  for (const button of document.querySelectorAll('#language button')) {
    button.setAttribute('aria-pressed', String(button.value === chosen));
  }
  translate(document);
  redrawCharts();
}

function startPreferences() {
  document.getElementById('language').addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    remember('edit-eval-language', button.value);
    setLanguage(button.value);
  });
  const theme = document.getElementById('theme');
  theme.value = root.dataset.theme || 'system';
  theme.addEventListener('change', () => {
    if (theme.value === 'system') delete root.dataset.theme;
    else root.dataset.theme = theme.value;
    remember('edit-eval-theme', theme.value);
    redrawCharts();
  });
  whenDark.addEventListener('change', redrawCharts);
  const browsers = Object.keys(data.languages).find((code) => code !== 'en' && (navigator.language || '').startsWith(code));
  const chosen = recall('edit-eval-language') || browsers || language;
  if (Object.hasOwn(data.languages, chosen) && chosen !== language) setLanguage(chosen);
}
