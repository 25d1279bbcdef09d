// jest's global set-up. The memory's folder comes first: the lender's own files go there, too.
module.exports = async () => {
  require("./in-memory").begin();
  await require("./lender").start();
};
