#include "format/hdf5/btree2.h"

#include <bit>
#include <vector>

namespace forebay {

namespace {

constexpr uint32_t kMaxNodeBytes = 64 << 20;
constexpr uint16_t kMostDepth = 32;
// HDF5 File Format Specification 3.0, III.A.2.
constexpr uint64_t kNodeOverhead = 10;  // signature, version, type, checksum

size_t bytes_for(uint64_t number) { return (static_cast<size_t>(std::bit_width(number | 1)) - 1) / 8 + 1; }

class TreeWalk {
 public:
  TreeWalk(Hdf5Metadata& file, const Hdf5RecordVisit& visit) : file_(file), visit_(visit) {}

  Status run(uint64_t address) {
    const Hdf5Sizes sizes = file_.sizes();
    FOREBAY_ASSIGN(const Buffer head,
                   file_.read_checked(address, 22 + uint64_t{sizes.address} + sizes.length, "a B-tree"));
    Hdf5Cursor in = file_.cursor(head);
    in.signature("BTHD");
    in.skip(1);
    tree_.type = in.u8();
    node_bytes_ = in.u32();
    tree_.record_bytes = in.u16();
    const uint16_t depth = in.u16();
    in.skip(2);
    const uint64_t root = in.address();
    const uint16_t records = in.u16();
    left_ = in.length();
    if (in.failed() || tree_.record_bytes == 0 || node_bytes_ < kNodeOverhead + tree_.record_bytes ||
        node_bytes_ > kMaxNodeBytes || depth > kMostDepth)
      return hdf5_damaged("the header of a B-tree");
    if (records == 0 || root == kHdf5NoAddress) return {};
    size_levels(depth);
    return node(root, records, depth);
  }

 private:
  struct Level {
    uint64_t most = 0, max_below = 0;
    /// Size of the field for the number of all records below, stored in its parent.
    size_t total_bytes = 0;
  };

  void size_levels(uint16_t depth) {
    Level leaf;
    leaf.most = leaf.max_below = (node_bytes_ - kNodeOverhead) / tree_.record_bytes;
    count_bytes_ = bytes_for(leaf.most);
    // The header has only depth and sizes. The size of the fields for record counts follows from
    // them.
    levels_.push_back(leaf);
    for (uint16_t i = 1; i <= depth; ++i) {
      const Level& below = levels_.back();
      const uint64_t pointer = file_.sizes().address + count_bytes_ + below.total_bytes;
      Level level;
      level.most = node_bytes_ < kNodeOverhead + pointer
                       ? 0
                       : (node_bytes_ - kNodeOverhead - pointer) / (tree_.record_bytes + pointer);
      const unsigned __int128 all = static_cast<unsigned __int128>(level.most + 1) * below.max_below + level.most;
      level.max_below = all > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(all);
      level.total_bytes = bytes_for(level.max_below);
      levels_.push_back(level);
    }
  }

  Status visit_record(std::span<const uint8_t> record) {
    // This ends the walk of a circular tree, whatever its depth.
    if (left_-- == 0) return hdf5_damaged("a B-tree has more records than its header says");
    return visit_(tree_, record);
  }

  Status node(uint64_t address, uint64_t records, uint16_t depth) {
    if (records > levels_[depth].most) return hdf5_damaged("a node of a B-tree has more records than fit");
    const uint64_t pointer = depth == 0 ? 0 : file_.sizes().address + count_bytes_ + levels_[depth - 1].total_bytes;
    // Cannot overflow: `records` is at most what a node can hold, and nodes have at most 64 MiB.
    const uint64_t bytes = kNodeOverhead + records * tree_.record_bytes + (depth == 0 ? 0 : (records + 1) * pointer);
    FOREBAY_ASSIGN(const Buffer block, file_.read_checked(address, bytes, "a B-tree's node"));
    Hdf5Cursor in = file_.cursor(block);
    if (!in.signature(depth == 0 ? "BTLF" : "BTIN")) return hdf5_damaged("a node of a B-tree is missing");
    in.skip(2);
    for (uint64_t i = 0; i < records; ++i) FOREBAY_RETURN_IF_ERROR(visit_record(in.bytes(tree_.record_bytes)));
    // A node has one child more than records: one before each record, and one after the last.
    for (uint64_t i = 0; depth > 0 && i <= records; ++i) {
      const uint64_t child = in.address(), count = in.number(count_bytes_);
      in.skip(levels_[depth - 1].total_bytes);
      FOREBAY_RETURN_IF_ERROR(node(child, count, static_cast<uint16_t>(depth - 1)));
    }
    return {};
  }

  Hdf5Metadata& file_;
  const Hdf5RecordVisit& visit_;
  Hdf5Tree tree_;
  uint32_t node_bytes_ = 0;
  size_t count_bytes_ = 0;
  uint64_t left_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

Status walk_hdf5_tree(Hdf5Metadata& file, uint64_t address, const Hdf5RecordVisit& visit) {
  return TreeWalk(file, visit).run(address);
}

}  // namespace forebay
