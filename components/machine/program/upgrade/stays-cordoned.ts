/**
 * Words with which a failed upgrade says that its node takes no pods. The summary of the update reads them. Another update does not
 * end it where it has nothing to do for the machine, as with the failed edit taken back (`warnOfCordons`).
 */
export const STAYS_CORDONED = "stays cordoned until its upgrade ends well";
