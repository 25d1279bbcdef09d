/** Words with which a failed upgrade says that its node takes no pods. The summary of the update reads them. */
export const STAYS_CORDONED = "stays cordoned until an update ends well";
