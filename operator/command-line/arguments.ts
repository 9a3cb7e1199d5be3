import { parseArgs } from 'node:util';

/** One flag of a command: `--name VALUE`, or `--name` alone if it has no value. */
export interface FlagSpec {
  readonly name: string;
  /** Placeholder in the usage line. Absent: the flag is a switch, which also accepts `none`. */
  readonly value?: string;
  readonly required?: boolean;
}

export interface Arguments {
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/** Value of a switch that is given without a value. */
export const SWITCH_ON = 'on';

/**
 * Assigns arguments to flags. Accepts `--name value` and `--name=value`. A negative number is a
 * value. Flags are not declared to `parseArgs`: it would take `--rpm` as the value of `--name --rpm
 * 5`.
 */
export function parseArguments(args: readonly string[], specs: readonly FlagSpec[]): Arguments {
  const { tokens } = parseArgs({ args: [...args], strict: false, allowPositionals: true, tokens: true });
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  const problems: string[] = [];
  let read = 0;
  for (const token of tokens) {
    // Skips the value of the previous flag, or a further letter of `-abc`.
    if (token.index < read) continue;
    read = token.index + 1;
    const arg = args[token.index] ?? '';
    if (!isFlag(arg)) {
      positionals.push(arg);
      continue;
    }
    const [name = ''] = arg.split('=', 1);
    const inline = token.kind === 'option' ? token.value : undefined;
    const spec = specs.find((candidate) => `--${candidate.name}` === name);
    const next = args[read];
    const value = inline ?? valueFrom(next, spec);
    if (inline === undefined && value !== undefined && value === next) read += 1;
    if (spec === undefined) problems.push(`Unknown flag ${name}.`);
    else if (value === undefined) problems.push(`${name} needs a value: ${name} ${spec.value}.`);
    else if (flags.has(spec.name)) problems.push(`${name} is given twice.`);
    else flags.set(spec.name, value);
  }
  for (const spec of specs) {
    if (spec.required && !flags.has(spec.name) && !problems.some((text) => text.startsWith(`--${spec.name} `))) {
      problems.push(`--${spec.name} ${spec.value ?? ''} is required.`);
    }
  }
  return { positionals, flags, problems };
}

/** Returns the value of a flag without `=`, given the next argument. */
function valueFrom(next: string | undefined, spec: FlagSpec | undefined): string | undefined {
  // Skips the value of an unknown flag, so that it is not reported as a second problem.
  if (spec === undefined) return next?.startsWith('-') === false ? next : undefined;
  if (spec.value === undefined) return next === 'none' ? next : SWITCH_ON;
  return next?.startsWith('--') === false ? next : undefined;
}

function isFlag(arg: string): boolean {
  return arg.startsWith('-') && !/^-[\d.]/.test(arg);
}
