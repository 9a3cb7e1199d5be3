/** What is being done to an organization in a dialog. */
export interface OrganizationAction {
  readonly what: 'edit' | 'credit' | 'suspension';
  readonly id: string;
}

export type OnOrganizationAction = (action: OrganizationAction | undefined) => void;
