#include "format/webdataset/left_out_members.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/data_warnings.h"

namespace forebay {
namespace {

constexpr std::array<OmissionReason, TarIndex::kSkippedKinds> kMembers = {
    OmissionReason{"members_without_field", "file in the tar shards is part of no sample",
                   "files in the tar shards are part of no sample",
                   "a file of a sample needs a name with an extension that does not begin with a dot"},
    OmissionReason{"device_members", "file in the tar shards is a device or a pipe and was left out",
                   "files in the tar shards are devices or pipes and were left out",
                   "write the shards from plain files"},
    OmissionReason{"bytes_behind_tar", "byte behind the end of the tar was left out",
                   "bytes behind the end of the tar were left out",
                   "they do not belong to the tar: cut them off, or restore the shard"},
    OmissionReason{
        "samples_apart", "sample bears the name of an earlier one in its shard",
        "samples bear the name of an earlier one in their shard",
        "files of a sample must follow each other, or each part becomes a sample: write the shards sorted by "
        "name (tar --sort=name)"}};
constexpr OmissionReason kEmptyShards{"shards_without_samples", "tar shard holds no sample",
                                      "tar shards hold no sample", "restore them, or leave them out"};

Status no_samples(const DataFiles& files, std::span<const TarIndex> indexes) {
  const auto skipped =
      std::ranges::find_if(indexes, [](const TarIndex& index) { return index.skipped[TarIndex::kNoField].count > 0; });
  const std::string beside =
      skipped == indexes.end()
          ? ""
          : fmt::format("; files such as '{}' are part of none: a file of a sample needs a name with an extension",
                        skipped->skipped[TarIndex::kNoField].first);
  return not_found(fmt::format("no sample in {} tar shard{}{}", indexes.size(), indexes.size() == 1 ? "" : "s", beside))
      .with_key(files.store->display_name(files.files.front().key));
}

}  // namespace

Status warn_left_out_members(const DataFiles& files, std::span<const TarIndex> indexes, bool count_split_samples) {
  if (!indexes.empty() && std::ranges::all_of(indexes, [](const TarIndex& index) { return index.samples.empty(); }))
    return no_samples(files, indexes);
  if (files.warnings == nullptr) return {};
  for (size_t i = 0; i < indexes.size(); ++i) {
    const std::string shard = files.store->display_name(files.files[i].key);
    if (indexes[i].samples.empty()) files.warnings->add(kEmptyShards, shard);
    for (size_t kind = 0; kind < kMembers.size(); ++kind) {
      const TarIndex::Skipped& out = indexes[i].skipped[kind];
      if (kind == TarIndex::kSplitSample && !count_split_samples) continue;
      const std::string name = out.first.empty() ? shard : fmt::format("{}: {}", shard, out.first);
      files.warnings->add(kMembers[kind], name, static_cast<int64_t>(out.count));
    }
  }
  return {};
}

}  // namespace forebay
