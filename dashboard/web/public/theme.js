// Runs before the first paint, so that a chosen theme never flashes.
// A separate file, because the policy allows no inline script.
try {
  const chosen = localStorage.getItem('theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's preference holds.
}
