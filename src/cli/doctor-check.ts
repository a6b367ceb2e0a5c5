/** Result of one check. Only a fault makes the command fail. */
export type Finding = {
  readonly level: 'ok' | 'warning' | 'fault';
  readonly what: string;
  readonly advice?: string;
};

export const ok = (what: string): Finding => ({ level: 'ok', what });
export const warning = (what: string, advice: string): Finding => ({ level: 'warning', what, advice });
export const fault = (what: string, advice: string): Finding => ({ level: 'fault', what, advice });
