// jest's global end, in the opposite order of the set-up.
module.exports = async () => {
  await require("./lender").stop();
  require("./in-memory").end();
};
