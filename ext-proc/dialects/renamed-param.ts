/** Patterns of names in one API, each with the name in another API from which it was made. */
export type ParamNames = readonly (readonly [there: RegExp, here: string])[];

/** The name in the other API. `undefined`: no pattern matches. */
export function renamedParam(names: ParamNames, param: string): string | undefined {
  const known = names.find(([there]) => there.test(param));
  return known && param.replace(...known);
}
