// Runs in the head: what the reader chose before, if the browser remembers it for pages on a disk.
(() => {
  'use strict';
  try {
    const theme = localStorage.getItem('edit-eval-theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch (error) { /* storage is switched off: follow the system */ }
})();
