// Runs in the head: applies the reader's earlier choices, if the browser remembers them for pages on disk.
(() => {
  'use strict';
  try {
    const theme = localStorage.getItem('edit-eval-theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch (error) { /* storage is switched off: follow the system */ }
})();
