/** Patterns of parameters in one API, each with its replacement in the other API. */
export type ParamNames = readonly (readonly [there: RegExp, here: string])[];

/** The name in the other API. `undefined`: no pattern matches. */
export function renamedParam(names: ParamNames, param: string): string | undefined {
  const known = names.find(([there]) => there.test(param));
  return known && param.replace(...known);
}
