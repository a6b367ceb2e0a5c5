import type { Mail } from './mailer.ts';

/**
 * All mails that Postern sends, in plain text. They contain nothing that a person typed except the
 * address: a name would let anybody send text of their own to strangers.
 */
const signature = (site: string) => `\n-- \nPostern, ${site}\n`;

const mail = (to: string, site: string, subject: string, paragraphs: readonly string[]): Mail => ({
  to,
  subject,
  text: `Hello,\n\n${paragraphs.join('\n\n')}\n${signature(site)}`,
});

const IGNORE = 'If that was not you, you can ignore this mail: nothing happens without the link.';

export const signUpMail = (to: string, site: string, link: string): Mail =>
  mail(to, site, 'Confirm your e-mail address', [
    `somebody, most likely you, asked for an account with this address at ${site}. Open this link to begin:`,
    link,
    'It works once, within 24 hours.',
    `${IGNORE} Do not open it for somebody else.`,
  ]);

export const addressTakenMail = (to: string, site: string): Mail =>
  mail(to, site, 'You have an account already', [
    `somebody, most likely you, tried to use this address for an account at ${site}. It has one already, so nothing was changed.`,
    `Sign in here: ${site}/login\nIf you forgot your password: ${site}/forgot-password`,
    'If that was not you, you need not do anything: nobody was told that the account exists.',
  ]);

export const verifyMail = (to: string, site: string, link: string): Mail =>
  mail(to, site, 'Confirm your e-mail address', [
    `open this link to confirm that ${to} belongs to your account at ${site}:`,
    link,
    'It works once, within 24 hours.',
    IGNORE,
  ]);

/** Names the account: the recipient must not confirm an address for somebody else's. */
export const changeMail = (to: string, site: string, account: string, link: string): Mail =>
  mail(to, site, 'Confirm your new e-mail address', [
    `open this link to make ${to} the address of the account ${account} at ${site}:`,
    link,
    'It works once, within 24 hours. Until then the account keeps the address it has.',
    `If ${account} is not yours, do not open it: nothing happens without the link.`,
  ]);

export const changeNotice = (to: string, site: string): Mail =>
  mail(to, site, 'Your e-mail address is about to change', [
    `somebody who is signed in to your account at ${site} asked to give it another e-mail address. It changes when the new address is confirmed.`,
    `If that was not you, change your password now, which signs out every other browser:\n${site}/account`,
  ]);

export const emailChangedMail = (to: string, site: string, undoLink: string): Mail =>
  mail(to, site, 'Your e-mail address was changed', [
    `your account at ${site} now has another e-mail address, and no longer this one.`,
    `If that was not you, open this link to take the account back. It restores this address and lets you choose a new password:\n${undoLink}`,
    'It works once, within 3 days.',
  ]);

export const resetMail = (to: string, site: string, link: string): Mail =>
  mail(to, site, 'Choose a new password', [
    `somebody, most likely you, asked for a new password for your account at ${site}. Open this link to choose one:`,
    link,
    'It works once, within 30 minutes.',
    'If that was not you, you can ignore this mail: your password stays as it is.',
  ]);

export const passwordNotice = (to: string, site: string): Mail =>
  mail(to, site, 'Your password was changed', [
    `the password of your account at ${site} was changed, and every other browser was signed out.`,
    `If that was not you, choose a new one now:\n${site}/forgot-password`,
  ]);

export const incidentMail = (to: string, site: string, clientId: string, incidentId: string): Mail =>
  mail(to, site, 'An application of yours lost a session', [
    `a code or refresh token of your application ${clientId} at ${site} was used twice. That is how a leak looks, so the session it belonged to was cut: its tokens are refused, and the user has to sign in again.`,
    `When it came, from where, and what it most likely was:\n${site}/dashboard/apps/${clientId}/incidents/${incidentId}`,
    'If more of this happens within the hour, the page lists it and no further mail is sent.',
  ]);
