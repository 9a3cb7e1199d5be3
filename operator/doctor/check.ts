/** Result of checking one part of the deployment. */
export interface Finding {
  /** The checked part, such as `database clock` or `provider openai`. */
  readonly check: string;
  /** `problem`: money or requests at stake now or soon. `skipped`: another problem prevented it. */
  readonly verdict: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly found: string;
  readonly advice?: string;
}

export interface Check {
  readonly name: string;
  readonly withinMs: number;
  run(): Promise<readonly Finding[]>;
}

/** Runs all checks in parallel, with deadlines: one that hangs hides no other. Keeps the order. */
export async function runChecks(checks: readonly Check[]): Promise<readonly Finding[]> {
  const findings = await Promise.all(checks.map(runOne));
  return findings.flat();
}

async function runOne({ name, withinMs, run }: Check): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    const found = `not done within ${withinMs / 1000} s`;
    timer = setTimeout(() => resolve([problem(name, found, 'Something that it needs does not answer.')]), withinMs);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [problem(name, `could not be checked: ${reason}`, 'Check that the files it needs exist and can be read.')];
  } finally {
    clearTimeout(timer);
  }
}

/** Advice that refers to an alert's. */
export function seeAlert(name: string): string {
  return `See the alert ${name} in deploy/observability/alerts.yaml.`;
}

export function ok(check: string, found: string): Finding {
  return { check, verdict: 'ok', found };
}

export function warning(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'warning', found, advice };
}

export function problem(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'problem', found, advice };
}

export function skipped(check: string, found: string): Finding {
  return { check, verdict: 'skipped', found };
}
