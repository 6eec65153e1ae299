// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// File systems whose bytes are on another machine: locks and fsync do not hold there what SQLite needs.
enum NetworkFileSystem {
  /// The name of a network file system by its number of statfs(2), `linux/magic.h`; nil for a local one.
  ///
  /// FUSE counts as local: it may be either, and an encrypted home is more common than a state folder in sshfs.
  static func name(of type: UInt32) -> String? {
    switch type {
    case 0x6969: "nfs"
    case 0x517b: "smb"
    case 0xff53_4d42: "cifs"
    case 0xfe53_4d42: "smb3"
    case 0x564c: "ncpfs"
    case 0x7375_7245: "coda"
    case 0x5346_414f, 0x6b41_4653: "afs"
    case 0x0102_1997: "9p"
    case 0x00c3_6400: "ceph"
    case 0x0116_1970: "gfs2"
    case 0x7461_636f: "ocfs2"
    case 0x0bd0_0bd0: "lustre"
    case 0x4750_4653: "gpfs"
    case 0x1983_0326: "beegfs"
    case 0xaad7_aaea: "panfs"
    case 0x786f_4256: "vboxsf"
    case 0xbacb_acbc: "vmhgfs"
    default: nil
    }
  }
}
