/**
 * The credentials of an Authorization header, undefined for another scheme (RFC 9110 11.4; schemes are compared without
 * regard to case). No pattern: one with two adjacent runs of spaces takes quadratic time on a hostile header.
 */
export function credentialsOf(scheme: 'basic' | 'bearer', header: string | undefined): string | undefined {
  if (header?.[scheme.length] !== ' ') return undefined;
  if (header.slice(0, scheme.length).toLowerCase() !== scheme) return undefined;
  return header.slice(scheme.length).trim();
}
