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
  root.lang = chosen === 'zh' ? 'zh-CN' : 'en';
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
  const chosen = recall('edit-eval-language');
  if (['en', 'zh'].includes(chosen) && chosen !== language) setLanguage(chosen);
}
