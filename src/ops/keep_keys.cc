#include "ops/definition/hash_share.h"
#include "ops/definition/registry.h"

namespace forebay {

OpDef keep_keys_op() {
  return make_op(
      {.name = "keep_keys",
       .help = R"(The share of the samples whose keys have a hash from `begin` to `end`: a part of `fb.split`.

The key is the path below the root for files, else the name of the file and the number of the sample in it, and the number of the
sample where there are no files. So a sample stays in its share when data are added behind it, and files when others are added or the
folder is moved. Nothing is read. Shares are those of a hash: of n samples a share p has p * n, give or take sqrt(n * p * (1 - p)).)",
       .args = HashShare::args(),
       .infer = [](const Args& args, Schema&, Problems& problems) { HashShare::check(args, problems); },
       .effect = OpEffect::kKeys});
}

}  // namespace forebay
