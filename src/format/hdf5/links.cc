#include "format/hdf5/links.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/hdf5/btree2.h"
#include "format/hdf5/heaps.h"

namespace forebay {

namespace {

constexpr size_t kMaxLinks = 1'000'000, kMostNameBytes = 64 << 20;
constexpr int kMaxSoftLinks = 16, kDeepestGroupTree = 32;
constexpr size_t kMostSteps = 256;
constexpr uint8_t kNameTree = 5;

std::string bytes_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads the members of one group, in any of the forms that files use.
class LinkReader {
 public:
  explicit LinkReader(Hdf5Metadata& file) : file_(file) {}

  Result<std::vector<Hdf5Link>> run(const Hdf5Header& group) {
    for (const Hdf5Message& message : group.messages) {
      switch (static_cast<Hdf5MessageType>(message.type)) {
        case Hdf5MessageType::kSymbolTable: FOREBAY_RETURN_IF_ERROR(old_group(message.bytes)); break;
        case Hdf5MessageType::kLink: FOREBAY_RETURN_IF_ERROR(link(message.bytes)); break;
        case Hdf5MessageType::kLinks: FOREBAY_RETURN_IF_ERROR(many(message.bytes)); break;
        default: break;
      }
    }
    return std::move(links_);
  }

 private:
  Status add(Hdf5Link link) {
    name_bytes_ += link.name.size() + link.target.size();
    if (links_.size() == kMaxLinks || name_bytes_ > kMostNameBytes)
      return unsupported("a group of more than a million members, or of names of 64 MiB");
    links_.push_back(std::move(link));
    return {};
  }

  Status old_group(const Buffer& bytes) {
    Hdf5Cursor in = file_.cursor(bytes);
    const uint64_t tree = in.address(), names = in.address();
    if (in.failed()) return hdf5_damaged("a group is cut off");
    FOREBAY_ASSIGN(const Hdf5LocalHeap heap, Hdf5LocalHeap::open(file_, names));
    return tree == kHdf5NoAddress ? Status() : old_tree(tree, heap, 0);
  }

  Status old_tree(uint64_t address, const Hdf5LocalHeap& heap, int depth) {
    if (depth == kDeepestGroupTree) return hdf5_damaged("the tree of a group leads in circles");
    const Hdf5Sizes sizes = file_.sizes();
    const uint64_t head_bytes = 8 + 2 * uint64_t{sizes.address};
    FOREBAY_ASSIGN(const Buffer head, file_.read(address, head_bytes));
    Hdf5Cursor in = file_.cursor(head);
    in.signature("TREE");
    const uint8_t type = in.u8(), level = in.u8();
    const uint16_t count = in.u16();
    if (in.failed() || type != 0) return hdf5_damaged("the tree of a group is missing");
    FOREBAY_ASSIGN(const Buffer entries,
                   file_.read(address + head_bytes, count * (uint64_t{sizes.length} + sizes.address)));
    Hdf5Cursor each = file_.cursor(entries);
    for (uint16_t i = 0; i < count; ++i) {
      each.length();
      const uint64_t child = each.address();
      FOREBAY_RETURN_IF_ERROR(level == 0 ? old_members(child, heap) : old_tree(child, heap, depth + 1));
    }
    return {};
  }

  Status old_members(uint64_t address, const Hdf5LocalHeap& heap) {
    const uint64_t entry_bytes = 2 * uint64_t{file_.sizes().address} + 24;
    FOREBAY_ASSIGN(const Buffer head, file_.read(address, 8));
    Hdf5Cursor in = file_.cursor(head);
    in.signature("SNOD");
    in.skip(2);
    const uint16_t count = in.u16();
    if (in.failed()) return hdf5_damaged("members of a group are missing");
    FOREBAY_ASSIGN(const Buffer entries, file_.read(address + 8, count * entry_bytes));
    Hdf5Cursor each = file_.cursor(entries);
    for (uint16_t i = 0; i < count; ++i) {
      Hdf5Link link;
      const uint64_t name = each.number(file_.sizes().address);
      link.address = each.address();
      const uint32_t cached = each.u32();
      each.skip(4);
      const uint32_t value = each.u32();
      each.skip(12);
      FOREBAY_ASSIGN(link.name, heap.text(name));
      // III.C: the scratch pad then holds the heap offset of the target's name.
      if (cached == 2) {
        link.kind = Hdf5Link::Kind::kSoft;
        FOREBAY_ASSIGN(link.target, heap.text(value));
      }
      FOREBAY_RETURN_IF_ERROR(add(std::move(link)));
    }
    return {};
  }

  Status many(const Buffer& bytes) {
    Hdf5Cursor in = file_.cursor(bytes);
    in.skip(1);
    const uint8_t flags = in.u8();
    if ((flags & 1) != 0) in.skip(8);
    const uint64_t heap_at = in.address(), tree = in.address();
    if (in.failed()) return hdf5_damaged("a group is cut off");
    if (heap_at == kHdf5NoAddress || tree == kHdf5NoAddress) return {};
    FOREBAY_ASSIGN(const Hdf5FractalHeap heap, Hdf5FractalHeap::open(file_, heap_at));
    return walk_hdf5_tree(file_, tree, [&](const Hdf5Tree& of, std::span<const uint8_t> record) -> Status {
      if (of.type != kNameTree || record.size() < 5) return hdf5_damaged("the names of a group");
      FOREBAY_ASSIGN(const Buffer entry, heap.get(file_, record.subspan(4)));
      return link(entry);
    });
  }

  Status link(const Buffer& bytes) {
    Hdf5Cursor in = file_.cursor(bytes);
    const uint8_t version = in.u8(), flags = in.u8();
    const uint8_t kind = (flags & 0x08) != 0 ? in.u8() : 0;
    if ((flags & 0x04) != 0) in.skip(8);
    if ((flags & 0x10) != 0) in.skip(1);
    // IV.A.2.g: bits 0 and 1 give the size of the name's length.
    const uint64_t length = in.number(size_t{1} << (flags & 3));
    Hdf5Link link;
    link.name = bytes_text(in.bytes(length));
    if (kind == 0) {
      link.address = in.address();
    } else {
      link.kind = kind == 1 ? Hdf5Link::Kind::kSoft : kind == 64 ? Hdf5Link::Kind::kExternal : Hdf5Link::Kind::kOther;
      const uint16_t target = in.u16();
      link.target = bytes_text(in.bytes(target));
    }
    if (in.failed() || version != 1) return hdf5_damaged("a link is cut off");
    return add(std::move(link));
  }

  Hdf5Metadata& file_;
  std::vector<Hdf5Link> links_;
  size_t name_bytes_ = 0;
};

std::vector<std::string> steps_of(std::string_view path) {
  std::vector<std::string> steps;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0 && path.substr(0, end) != ".") steps.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return steps;
}

Status no_such_member(std::string_view path, const std::string& name, const std::vector<Hdf5Link>& links) {
  std::vector<std::string> known;
  for (const Hdf5Link& link : links) known.push_back(link.name);
  std::ranges::sort(known);
  std::string there;
  if (known.size() <= 10 && !known.empty()) there = fmt::format("; there is {}", fmt::join(known, ", "));
  return not_found(
      fmt::format("the file has no '{}': no '{}' there{}{}", path, name, suggestion_text(name, known), there));
}

Status in_another_file(const Hdf5Link& link) {
  std::string text = link.target.substr(std::min<size_t>(1, link.target.size()));
  std::ranges::replace(text, '\0', ' ');
  return unsupported(
      fmt::format("'{}' leads to another file ({}), and none is opened that was not named; give that file, or copy the "
                  "data set here",
                  link.name, text));
}

void list_data_sets(Hdf5Metadata& file, uint64_t address, const std::string& path, size_t most,
                    std::set<uint64_t>& seen, std::vector<std::string>& found) {
  // Each object is visited once, because links may be circular; the number of objects is limited to
  // bound the time.
  if (found.size() >= most || seen.size() > 10'000 || !seen.insert(address).second) return;
  Result<Hdf5Header> header = read_hdf5_header(file, address);
  if (!header.ok()) return;
  if (header->find(Hdf5MessageType::kLayout) != nullptr) return found.push_back(path);
  Result<std::vector<Hdf5Link>> links = hdf5_links(file, *header);
  if (!links.ok()) return;
  std::ranges::sort(*links, {}, &Hdf5Link::name);
  for (const Hdf5Link& link : *links) {
    if (link.kind == Hdf5Link::Kind::kHard)
      list_data_sets(file, link.address, path + "/" + link.name, most, seen, found);
  }
}

}  // namespace

Result<std::vector<Hdf5Link>> hdf5_links(Hdf5Metadata& file, const Hdf5Header& group) {
  return LinkReader(file).run(group);
}

// Works on a stack of path components, the next one last. A soft link is replaced by the components
// of its target.
Result<Hdf5Object> find_hdf5_object(Hdf5Metadata& file, std::string_view path) {
  std::vector<std::string> ahead = steps_of(path);
  std::ranges::reverse(ahead);
  Hdf5Object at{file.root(), {}};
  FOREBAY_ASSIGN(at.header, read_hdf5_header(file, at.address));
  int soft_links = 0;
  while (!ahead.empty()) {
    const std::string name = std::move(ahead.back());
    ahead.pop_back();
    // All members are read even for one name: the names in a heap are ordered by hash, and the
    // error names the nearest one.
    FOREBAY_ASSIGN(const std::vector<Hdf5Link> links, hdf5_links(file, at.header));
    const auto link = std::ranges::find(links, name, &Hdf5Link::name);
    if (link == links.end()) return no_such_member(path, name, links);
    if (link->kind == Hdf5Link::Kind::kExternal) return in_another_file(*link);
    if (link->kind == Hdf5Link::Kind::kOther)
      return unsupported(fmt::format("'{}' is a link of a kind that only its writer knows", name));
    if (link->kind == Hdf5Link::Kind::kSoft) {
      std::vector<std::string> there = steps_of(link->target);
      if (++soft_links > kMaxSoftLinks || ahead.size() + there.size() > kMostSteps)
        return invalid_argument(fmt::format("the links at '{}' lead in circles; name the data set itself", name));
      ahead.insert(ahead.end(), there.rbegin(), there.rend());
      // A relative target starts at the link's group, which `at` still is.
      if (link->target.starts_with('/')) at.address = file.root();
    } else {
      at.address = link->address;
    }
    FOREBAY_ASSIGN(at.header, read_hdf5_header(file, at.address));
  }
  return at;
}

std::vector<std::string> hdf5_data_sets(Hdf5Metadata& file, size_t most) {
  std::vector<std::string> found;
  std::set<uint64_t> seen;
  list_data_sets(file, file.root(), "", most, seen, found);
  return found;
}

}  // namespace forebay
