#include "format/webdataset/sample_grouper.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace forebay {

namespace {

constexpr size_t kMaxSkippedNameBytes = 200;  // limit of a name in a message

}  // namespace

void SampleGrouper::skip(TarIndex::SkippedKind why, const std::string& name) {
  TarIndex::Skipped& out = index_.skipped[why];
  if (out.count++ == 0) out.first = name.substr(0, kMaxSkippedNameBytes);
}

void SampleGrouper::begin_sample(std::string_view base) {
  base_ = base;
  names_.push_back(hash128(base).low);
  index_.samples.push_back(
      {index_.end, static_cast<uint32_t>(index_.files.size()), static_cast<uint32_t>(base_.size())});
}

Status SampleGrouper::add(const TarMember& member) {
  if (member.kind == TarMember::Kind::kFolder) return {};
  if (member.kind == TarMember::Kind::kOther) return skip(TarIndex::kDevice, member.name), Status();
  Result<std::optional<TarSampleName>> name = split_sample_name(member.name, split_);
  if (!name.ok()) return Status(name.status()).with_range({member.begin, kTarBlockBytes});
  const std::optional<size_t> link = member.is_link() ? std::optional(links_.add(member)) : std::nullopt;
  if (!*name) {
    if (!is_shard_note(member.name)) skip(TarIndex::kNoField, member.name);
    return {};
  }
  if (index_.files.size() == TarIndex::kMostFiles) return unsupported("a tar of more than 4,294,967,295 files");
  // Only consecutive files form a sample. Looking further back would require all names in memory.
  if (index_.samples.empty() || (*name)->base != base_) begin_sample((*name)->base);
  const auto [known, is_new] = extensions_.emplace((*name)->extension, static_cast<uint32_t>(index_.extensions.size()));
  if (is_new) index_.extensions.push_back((*name)->extension);
  if (index_.extensions.size() > TarIndex::kMaxExtensions) {
    return unsupported(fmt::format(
        "more than {} different extensions, the last of which is '{}' of '{}': {}; write the tar with other names",
        TarIndex::kMaxExtensions, (*name)->extension, member.name,
        split_ == NameSplit::kFirstDot ? "a name ends at its first dot, and all behind it is the extension; with "
                                         "split=\"last\" it ends at the last one"
                                       : "all behind the last dot of a name is the extension"));
  }
  if (link) {
    link_numbers_.push_back(*link);
    index_.links.push_back({static_cast<uint32_t>(index_.files.size()), false, 0});
  }
  index_.files.push_back({known->second, (member.data - index_.end) / kTarBlockBytes, member.size});
  index_.end = member.data + whole_tar_blocks(member.size);
  return {};
}

/// Counts all but the first sample of each name. Consecutive ones have already been merged.
void SampleGrouper::count_split_samples() {
  std::ranges::sort(names_);
  for (size_t i = 1; i < names_.size(); ++i)
    index_.skipped[TarIndex::kSplitSample].count += names_[i] == names_[i - 1] ? 1 : 0;
}

TarIndex SampleGrouper::take(uint64_t trailing_bytes) && {
  for (size_t i = 0; i < link_numbers_.size(); ++i) {
    const std::optional<TarLinks::Target> target = links_.target(link_numbers_[i]);
    TarIndex::Link& link = index_.links[i];
    if (!target) continue;
    link.found = true;
    link.data = target->data;
    index_.files[link.file].bytes = target->size;
  }
  count_split_samples();
  index_.skipped[TarIndex::kAfterEnd].count = trailing_bytes;
  return std::move(index_);
}

}  // namespace forebay
