/** One flag of a command: `--name VALUE`, or `--name` alone when there is no value. */
export interface FlagSpec {
  readonly name: string;
  /** Placeholder in the usage line. Absent: a switch, which also takes `none`. */
  readonly value?: string;
  readonly required?: boolean;
}

export interface Arguments {
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  readonly problems: readonly string[];
}

/** What a switch without value stands for. */
export const SWITCH_ON = 'on';

/** Splits a command's arguments by its flags. Accepts `--name value` and `--name=value`; a negative number is a value, not a flag. */
export function parseArguments(args: readonly string[], specs: readonly FlagSpec[]): Arguments {
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  const problems: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (!arg.startsWith('-') || /^-[\d.]/.test(arg)) {
      positionals.push(arg);
      continue;
    }
    const [name = '', inline] = splitOnce(arg, '=');
    const spec = specs.find((candidate) => `--${candidate.name}` === name);
    if (!spec) {
      problems.push(`Unknown flag ${name}.`);
      // What follows is most likely its value: naming it as a problem of its own would only confuse.
      if (inline === undefined && args[i + 1]?.startsWith('-') === false) i++;
      continue;
    }
    const next = args[i + 1];
    let value = inline;
    if (value === undefined && spec.value === undefined) value = next === 'none' ? next : SWITCH_ON;
    else if (value === undefined && next !== undefined && !next.startsWith('--')) value = next;
    if (inline === undefined && value !== undefined && value === next) i++;
    if (value === undefined) problems.push(`${name} needs a value: ${name} ${spec.value}.`);
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

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
