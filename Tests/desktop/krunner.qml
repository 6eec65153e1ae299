// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches with KRunner's library, says what it finds, and runs the first match: test_shells.py.
import QtQuick 2.0
import org.kde.runnermodel 2.0

Item {
  RunnerModel {
    id: matches
    query: "budg"
    onCountChanged: if (count > 0) matches.run(0)
  }
  Repeater {
    model: matches
    delegate: Item {
      Component.onCompleted: console.log("match " + JSON.stringify([model.label, model.description]))
    }
  }
}
