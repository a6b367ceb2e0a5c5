/** Every client_id that was ever issued matches. Anything else is unknown without asking the database. */
const CLIENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

export const couldBeClientId = (text: string): boolean => CLIENT_ID.test(text);
