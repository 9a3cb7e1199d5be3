const NAME = 'organization';

/** The organization that was looked at last in this browser: `/` leads there. */
export function lastOrganization(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

export function rememberOrganization(id: string): void {
  try {
    localStorage.setItem(NAME, id);
  } catch {
    // Then `/` leads to the first one.
  }
}
