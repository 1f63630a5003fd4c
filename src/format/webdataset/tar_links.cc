#include "format/webdataset/tar_links.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {
namespace {

constexpr int kMostLinkSteps = 40;  // chain of links, as Linux allows

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
  by_begin_.emplace(link.begin, links_.size() - 1);
  if (links_.back().name) named_.try_emplace(*links_.back().name);
  return links_.size() - 1;
}

void TarLinks::record_member(const TarMember& member) {
  const std::optional<std::string> name = normalize_tar_path(member.name);
  const auto wanted = name ? named_.find(*name) : named_.end();
  if (wanted == named_.end()) return;
  Named found{member.begin, std::nullopt, std::nullopt};
  if (const auto link = by_begin_.find(member.begin); link != by_begin_.end()) found.link = link->second;
  if (member.kind == TarMember::Kind::kFile) found.file = Target{member.data, member.size};
  wanted->second.push_back(found);
}

const TarLinks::Named* TarLinks::find(const Link& link) const {
  if (!link.name) return nullptr;
  const std::vector<Named>& all = named_.at(*link.name);
  const auto end = link.hard ? std::ranges::lower_bound(all, link.begin, {}, &Named::begin) : all.end();
  return end == all.begin() ? nullptr : &*std::prev(end);
}

std::optional<TarLinks::Target> TarLinks::target(size_t link) const {
  for (int step = 0; step < kMostLinkSteps; ++step) {
    const Named* const found = find(links_[link]);
    if (found == nullptr) return std::nullopt;
    if (!found->link) return found->file;
    link = *found->link;
  }
  return std::nullopt;
}

}  // namespace forebay
