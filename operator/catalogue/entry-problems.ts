import { CONFIG_FILE } from '#core/config/schema.ts';
import type { Entries } from './import-entries.ts';

/** Returns the problems of entries that come from an operator's file and flags. */
export function entryProblems(entries: Entries): readonly string[] {
  const { providers, models } = CONFIG_FILE.shape;
  return [
    ...problemsOf('providers', entries, providers),
    ...problemsOf('models', entries, models),
    ...referencesOf(entries),
  ];
}

/** A reference in an entry would send a secret of this machine to a provider. */
function referencesOf({ models }: Entries): readonly string[] {
  const referring = Object.keys(models).filter((name) => JSON.stringify(models[name]).includes('${'));
  return referring.map((name) => `models.${name}: refers to a variable or file, which no catalogue does`);
}

type Schema = (typeof CONFIG_FILE.shape)[keyof Entries];

function problemsOf(section: keyof Entries, entries: Entries, schema: Schema): readonly string[] {
  const parsed = schema.safeParse(entries[section]);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [undefined];
    return keys.map((key) => {
      const path = [section, ...issue.path, ...(key === undefined ? [] : [key])];
      // Names of members come from the file, and could contain escape sequences for the terminal.
      return `${path.map(String).join('.')}: ${issue.message}`.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?');
    });
  });
}
