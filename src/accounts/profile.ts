import { param } from '../protocol/parameters.ts';
import {
  EDITABLE_FIELDS,
  type Profile,
  type ProfileChanges,
  type ProfileFaults,
  type ProfileInput,
} from '../protocol/profile.ts';

export const profileInput = (user: Profile): ProfileInput =>
  byProperty(({ property }) => user[property] ?? '');

export const readProfile = (form: ReadonlyMap<string, string>): ProfileInput =>
  byProperty(({ claim }) => (param(form, claim) ?? '').trim());

export function profileFaults(profile: ProfileInput): ProfileFaults {
  const faults: { -readonly [Property in keyof ProfileInput]?: string } = {};
  for (const { property, input } of EDITABLE_FIELDS) {
    const text = profile[property];
    const fault = text === '' ? input.required : input.fault(text);
    if (fault !== undefined) faults[property] = fault;
  }
  return faults;
}

/** The values to store, of a profile without faults. */
export const profileChanges = (profile: ProfileInput): ProfileChanges =>
  byProperty(({ property, input }) => {
    const text = profile[property];
    return text === '' ? null : (input.canonical?.(text) ?? text);
  });

type EditableField = (typeof EDITABLE_FIELDS)[number];

const byProperty = <T>(value: (field: EditableField) => T): Readonly<Record<keyof ProfileInput, T>> =>
  Object.fromEntries(EDITABLE_FIELDS.map((field) => [field.property, value(field)])) as Record<
    keyof ProfileInput,
    T
  >;
