import { X509Certificate } from "node:crypto";

/**
 * Whether a client certificate is in force, in words for the user; undefined when it is, or cannot be read.
 *
 * @param pem the certificate, as PEM.
 */
export function certificateProblem(pem: string, now: Date): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch {
    return undefined; // whoever is to take it will say so
  }
  const { validFrom, validTo } = certificate;
  if (new Date(validTo) < now) return `expired on ${day(validTo)}`;
  if (new Date(validFrom) > now) return `is valid from ${day(validFrom)} only; is this machine's clock right?`;
  return undefined;
}

const day = (date: string): string => new Date(date).toISOString().slice(0, 10);
