#include "loader/compile/packing_step.h"

#include <utility>

#include "base/hash.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {
Args args_of(const OpSpec& pack) { return {pack.args, catalog().find(pack.name)->args}; }
}  // namespace

std::string packed_field(const OpSpec& pack) { return args_of(pack).text("field"); }

Result<std::shared_ptr<const Packing>> pack_rows(const OpSpec& pack, std::vector<uint32_t> lengths,
                                                 const ChunkSource* chunks, const Selection& selection) {
  const Args args = args_of(pack);
  const std::vector<int64_t> groups = chunks != nullptr ? selected_rows(*chunks, selection) : std::vector<int64_t>();
  FOREBAY_ASSIGN(Packing packing,
                 Packing::make(std::move(lengths), groups,
                               {.length = args.integer("length"), .open_blocks = args.integer("open_blocks")}));
  return std::make_shared<const Packing>(std::move(packing));
}

PackingStep packing_of(const OpSpec& pack, std::shared_ptr<const Packing> blocks) {
  const FieldUse use = catalog().find(pack.name)->used(pack, {});
  return {std::move(blocks), use.makes[1], use.makes[2], args_of(pack).number("pad_value")};
}

std::string version_of(const Packing& packing) {
  Hasher hasher;
  hasher.update_value(packing.length());
  hasher.update_value(packing.size());
  // The lengths and the options decide a packing; the pipeline's fingerprint covers the options.
  for (const uint32_t length : packing.lengths()) hasher.update_value(length);
  return hasher.digest().to_string();
}

}  // namespace forebay
