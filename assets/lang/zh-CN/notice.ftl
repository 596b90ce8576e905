# notice
