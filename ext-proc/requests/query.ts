import { LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';

/**
 * Reads a query string strictly: an unknown name is `unknown_parameter`, a repeated one
 * `invalid_request` (docs/interface.md, "Endpoints for reading"). Values are percent-decoded; `+`
 * is a space.
 */
export function readQuery<Name extends string>(
  query: string,
  names: readonly Name[],
): { readonly kind: 'query'; readonly values: Partial<Record<Name, string>> } | Refusal {
  const values: Partial<Record<Name, string>> = {};
  for (const [name, value] of new URLSearchParams(query)) {
    const known = names.find((candidate) => candidate === name);
    if (known === undefined) {
      const echo = name.slice(0, LONGEST_ECHO);
      return refuse('unknown_parameter', { name: echo }, { param: echo });
    }
    if (values[known] !== undefined)
      return refuse('invalid_request', { problem: `${name} is given twice.` }, { param: name });
    values[known] = value;
  }
  return { kind: 'query', values };
}
