// Evaluates the output of `npm audit --omit=dev --json`: `npm audit … | node scripts/audit.mjs`
// fails for high and critical vulnerabilities. A registry that does not support audits, such as a
// mirror, is reported without a failure. Plain JavaScript, because it runs before set-up.
import { text } from 'node:stream/consumers';

const REFUSED = new Set(['high', 'critical']);

function judge(printed) {
  let report = {};
  try {
    report = JSON.parse(printed);
  } catch {
    // npm is missing, or has printed nothing.
  }
  if (report.vulnerabilities === undefined) {
    return {
      ok: true,
      said: `Known vulnerabilities were not looked up: ${report.message ?? 'npm audit gave no report'}`,
    };
  }
  const found = Object.values(report.vulnerabilities).filter(({ severity }) => REFUSED.has(severity));
  if (found.length === 0) return { ok: true, said: 'No high or critical vulnerability is known of what ships.' };
  const lines = found.map(({ name, severity, range }) => `  ${name} ${range}: ${severity}`);
  return { ok: false, said: `Known vulnerabilities of what ships:\n${lines.join('\n')}` };
}

const { ok, said } = judge(await text(process.stdin));
process.stdout.write(`${said}\n`);
process.exitCode = ok ? 0 : 1;
