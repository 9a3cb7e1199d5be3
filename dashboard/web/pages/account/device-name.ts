const BROWSERS: readonly [RegExp, string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Firefox on Linux`. User agents name other browsers as well, so the first match counts. */
export function deviceName(userAgent: string | undefined): string {
  const found = (names: readonly [RegExp, string][]) => names.find(([sign]) => userAgent && sign.test(userAgent))?.[1];
  const browser = found(BROWSERS) ?? 'Unknown browser';
  const system = found(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
