#include "format/webdataset/tar_links.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr int kMaxLinkSteps = 40;  // chain of links, as Linux allows

}  // namespace

std::optional<std::string> normalize_tar_path(std::string_view path) {
  if (path.starts_with('/')) return std::nullopt;
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
      continue;
    }
    if (parts.empty()) return std::nullopt;
    parts.pop_back();
  }
  return fmt::format("{}", fmt::join(parts, "/"));
}

size_t TarLinks::add(const TarMember& link) {
  const bool hard = link.kind == TarMember::Kind::kHardLink;
  // A symbolic link is relative to its own folder; an absolute one leaves the tar.
  const std::string folder = hard || link.link.starts_with('/') ? "" : link.name.substr(0, link.name.rfind('/') + 1);
  links_.push_back({link.begin, normalize_tar_path(folder + link.link), hard});
  links_by_header_offset_.emplace(link.begin, links_.size() - 1);
  if (links_.back().target_name) candidates_by_name_.try_emplace(*links_.back().target_name);
  return links_.size() - 1;
}

void TarLinks::record_member(const TarMember& member) {
  const std::optional<std::string> name = normalize_tar_path(member.name);
  const auto candidates = name ? candidates_by_name_.find(*name) : candidates_by_name_.end();
  if (candidates == candidates_by_name_.end()) return;
  Candidate candidate{member.begin, std::nullopt, std::nullopt};
  const auto link = links_by_header_offset_.find(member.begin);
  if (link != links_by_header_offset_.end()) candidate.link = link->second;
  if (member.kind == TarMember::Kind::kFile) candidate.file = Target{member.data, member.size};
  candidates->second.push_back(candidate);
}

const TarLinks::Candidate* TarLinks::find(const Link& link) const {
  if (!link.target_name) return nullptr;
  const std::vector<Candidate>& all = candidates_by_name_.at(*link.target_name);
  // A hard link refers only to members before it. The candidates are in the order of the tar, so
  // those are the ones before the link's own header offset.
  const auto end =
      link.hard ? std::ranges::lower_bound(all, link.header_offset, {}, &Candidate::header_offset) : all.end();
  return end == all.begin() ? nullptr : &*std::prev(end);
}

std::optional<TarLinks::Target> TarLinks::target(size_t link) const {
  for (int step = 0; step < kMaxLinkSteps; ++step) {
    const Candidate* const member = find(links_[link]);
    if (member == nullptr) return std::nullopt;
    if (!member->link) return member->file;
    link = *member->link;
  }
  return std::nullopt;
}

}  // namespace forebay
