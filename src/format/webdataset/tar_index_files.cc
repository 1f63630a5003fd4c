#include "format/webdataset/tar_index_files.h"

#include <filesystem>

#include <fmt/format.h>

#include "telemetry/log.h"

namespace forebay {

namespace {

/// The format of the payload. Indexes of another format are stale.
constexpr int kFormat = 2;
constexpr IndexKind kTarKind = {"tarindex", TarIndexFiles::kMostFileBytes, TarIndexFiles::kMostFiles};

/// An index next to its shard omits the folder, so that both can be moved together.
std::string index_identity(const TarIndexFiles::Shard& shard, TarIndexFiles::Place place, NameSplit split) {
  const bool beside = place == TarIndexFiles::Place::kBesideShards;
  const std::string name = beside ? std::filesystem::path(shard.name).filename().string() : shard.name;
  return fmt::format("format {}\n{} {}{}\n{}\n", kFormat, shard.size, shard.version,
                     split == NameSplit::kLastDot ? " last" : "", name);
}

}  // namespace

TarIndexFiles::TarIndexFiles(std::string folder, Place place, NameSplit split)
    : files_(kTarKind, place == Place::kBesideShards ? "" : std::move(folder)), place_(place), split_(split) {}

std::string TarIndexFiles::path(const Shard& shard) const {
  if (beside_shards())
    return fmt::format("{}{}{}", shard.name, split_ == NameSplit::kLastDot ? ".last" : "", kIndexExtension);
  return files_.path(index_identity(shard, place_, split_));
}

std::optional<TarIndex> TarIndexFiles::load(const Shard& shard) const {
  if (shard.version == 0) return std::nullopt;
  using State = LoadedIndex::State;
  const std::string identity = index_identity(shard, place_, split_);
  const LoadedIndex loaded = beside_shards() ? load_index_file(kTarKind, path(shard), identity) : files_.load(identity);
  std::optional<TarIndex> index;
  if (loaded.state == State::kFound) index = TarIndex::from_bytes(loaded.payload, shard.size);
  if (!index && beside_shards() && loaded.state != State::kMissing) {
    // A file that was found but has no valid index in it is damaged, too.
    ProblemCount& problem = loaded.state == State::kStale ? stale_ : damaged_;
    problem.add(path(shard));
  }
  return index;
}

void TarIndexFiles::save(const Shard& shard, const TarIndex& index) const {
  if (shard.version == 0) return;
  const std::string identity = index_identity(shard, place_, split_);
  if (!beside_shards())
    files_.save(identity, index.to_bytes());
  else if (!save_index_file(kTarKind, path(shard), identity, index.to_bytes(), 0644))
    unwritten_.add(path(shard));
}

void TarIndexFiles::ProblemCount::add(const std::string& path) {
  const Lock lock(mutex);
  if (count++ == 0) first = path;
}

void TarIndexFiles::log_problems() const {
  const auto log_problem = [](ProblemCount& problem, std::string_view what) {
    const Lock lock(problem.mutex);
    if (problem.count > 0)
      log_warning(fmt::format("{} of the indexes beside shards {} ({}{})", problem.count, what, problem.first,
                              problem.count > 1 ? ", …" : ""));
  };
  log_problem(damaged_, "are damaged: they were made anew");
  log_problem(stale_, "are of another state of their shards, or of another release: they were made anew");
  log_problem(unwritten_, "cannot be written: headers are read again each time");
}

}  // namespace forebay
